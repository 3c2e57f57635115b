// ends a filter
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_newBlockFilter","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x2ce372f56d32398cf6cb85fb7c7fe35d"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_uninstallFilter","params":["0x2ce372f56d32398cf6cb85fb7c7fe35d"]}
<< {"jsonrpc":"2.0","id":2,"result":true}
