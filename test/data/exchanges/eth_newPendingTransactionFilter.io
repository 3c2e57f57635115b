// a filter of transactions
// speconly: values differ from run to run.
>> {"jsonrpc":"2.0","id":1,"method":"eth_newPendingTransactionFilter","params":[]}
<< {"jsonrpc":"2.0","id":1,"result":"0x30de1b348cb45f35a6c8037b75a13f96"}
