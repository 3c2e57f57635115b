// the version of the node
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"web3_clientVersion","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"chain-query/v0.1.0/linux-x64/node24.21.0"}
