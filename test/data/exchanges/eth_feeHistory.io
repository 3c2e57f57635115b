// the fees of two blocks
>> {"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x2","latest",[25,75]]}
<< {"jsonrpc":"2.0","id":1,"result":{"oldestBlock":"0x35","reward":[["0x1","0x1"],["0x1","0x1"]],"baseFeePerGas":["0x1ddb773","0x1a21397","0x16dfe9b"],"gasUsedRatio":[0.00062368,0.001699125],"baseFeePerBlobGas":["0x1","0x1","0x1"],"blobGasUsedRatio":[0.06666666666666667,0]}}
