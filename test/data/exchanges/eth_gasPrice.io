// what a transaction should pay
>> {"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x1b155d7"}
