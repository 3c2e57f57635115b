// all logs of a filter
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_newFilter","params":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","fromBlock":"0x2","toBlock":"0x2"}]}
<< {"jsonrpc":"2.0","id":1,"result":"0x9f2c98b0023419d68c653e31e9f1f806"}
>> {"jsonrpc":"2.0","id":2,"method":"eth_getFilterLogs","params":["0x9f2c98b0023419d68c653e31e9f1f806"]}
<< {"jsonrpc":"2.0","id":2,"result":[{"address":"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df","topics":["0x00000000000000000000000000000000000000000000000000000000656d6974","0xf4da19d6c17928e683661a52829cf391d3dc26d581152b81ce595a1207944f09"],"data":"0x0000000000000000000000000000000000000000000000000000000000000000","blockNumber":"0x2","transactionHash":"0x5bc704d4eb4ce7fe319705d2f888516961426a177f2799c9f934b5df7466dd33","transactionIndex":"0x2","blockHash":"0xb4874cd66b2070da5d1905b5937e97c82d1891747739b3ebb0f7f6ffc9ad518a","blockTimestamp":"0x14","logIndex":"0xa","removed":false}]}
