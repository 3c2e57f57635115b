// the calls that a call makes
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceCall","params":[{"from":"0x0000000000000000000000000000000000000000","input":"0xff01","to":"0x17e7eedce4ac02ef114a7ed9fe6e2f33feba1667"},"latest",{"tracer":"callTracer"}]}
<< {"jsonrpc":"2.0","id":1,"result":{"from":"0x0000000000000000000000000000000000000000","gas":"0x2faf080","gasUsed":"0x5270","to":"0x17e7eedce4ac02ef114a7ed9fe6e2f33feba1667","input":"0xff01","output":"0xffee","value":"0x0","type":"CALL"}}
