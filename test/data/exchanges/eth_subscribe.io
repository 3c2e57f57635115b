// logs of a contract, pre-confirmed ones too, over WebSocket
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["pendingLogs",{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x46547614779b2f4b0000000000000000"}
