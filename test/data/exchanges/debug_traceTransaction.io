// each opcode of a transaction, the first two
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction","params":["0xc1d605c6612a5fe84dc95810030bfe5b1d327652b381bc695e28f50d13b2b09e",{"limit":2}]}
<< {"jsonrpc":"2.0","id":1,"result":{"gas":66259,"failed":false,"returnValue":"0x60004381526020014681526020014181526020014881526020014481526020013281526020013481526020016000f3","structLogs":[{"pc":0,"op":"PUSH1","gas":23644,"gasCost":3,"depth":1,"stack":[]}]}}
