// a filter of the logs of a contract
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x5e65dbfa205d4793c682e03d33cf54f1"}
