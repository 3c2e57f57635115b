// ends a subscription of the same connection
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}
<< {"jsonrpc":"2.0","id":1,"result":"0x6aef5f8ac78a61b20000000000000000"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_unsubscribe","params":["0x6aef5f8ac78a61b20000000000000000"]}
<< {"jsonrpc":"2.0","id":2,"result":true}
