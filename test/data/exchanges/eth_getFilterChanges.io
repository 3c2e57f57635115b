// no block came since the filter was made
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x5b1858f36a81cc6c892e5fce3b724950"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getFilterChanges","params":["0x5b1858f36a81cc6c892e5fce3b724950"]}
<< {"jsonrpc":"2.0","id":2,"result":[]}
