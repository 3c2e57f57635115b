// a filter of blocks
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_newBlockFilter","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0xd605bd531649ddf9c2f11e6445810fa5"}
