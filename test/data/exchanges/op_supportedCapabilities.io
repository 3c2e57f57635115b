// flashblocks are understood
>> {"jsonrpc":"2.0","id":1,"method":"op_supportedCapabilities","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":["flashblocksv1"]}
