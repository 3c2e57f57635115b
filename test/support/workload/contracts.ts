import { type Compiled, compileSolidity } from './solidity.ts';
import { tokenSource } from './token.ts';

const source = `${tokenSource}

contract Counter {
  uint public count;
  mapping(address => uint) public seen;
  event Counted(address indexed who, uint indexed count);
  function bump(uint by) public payable virtual returns (uint) {
    count += by; seen[msg.sender] += 1; emit Counted(msg.sender, count); return count;
  }
}
contract DoubleCounter is Counter {
  function bump(uint by) public payable override returns (uint) {
    count += by * 2; seen[tx.origin] += 1; emit Counted(tx.origin, count); return count;
  }
}

contract Proxy {
  event Upgraded(address indexed to);
  constructor(address to) { point(to); }
  function point(address to) internal {
    assembly { sstore(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc, to) }
    emit Upgraded(to);
  }
  function upgradeTo(address to) external { point(to); }
  fallback() external payable {
    assembly {
      calldatacopy(0, 0, calldatasize())
      let to := sload(0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc)
      let ok := delegatecall(gas(), to, 0, calldatasize(), 0, 0)
      returndatacopy(0, 0, returndatasize())
      if iszero(ok) { revert(0, returndatasize()) }
      return(0, returndatasize())
    }
  }
}

contract Mortal {
  uint public born;
  mapping(uint => uint) public left;
  constructor() payable { born = block.number; left[born] = gasleft(); }
  function kill(address payable to) public { left[1] = 1; selfdestruct(to); }
  receive() external payable {}
}

contract Workshop {
  mapping(uint => uint) public values;
  mapping(address => mapping(uint => uint)) public nested;
  uint[] public list;
  mapping(bytes32 => uint) public results;
  uint public ran;
  address public last;
  error Wrong(address who, uint code);

  function put(uint from, uint n, uint salt) public {
    for (uint i = from; i < from + n; i++) { values[i] = uint(keccak256(abi.encode(i, salt))); nested[msg.sender][i] += salt; }
    ran += n;
  }
  function clear(uint from, uint n) public {
    for (uint i = from; i < from + n; i++) { delete values[i]; delete nested[msg.sender][i]; }
  }
  function push(uint n) public { for (uint i = 0; i < n; i++) list.push(block.number + i); }
  function pop(uint n) public { for (uint i = 0; i < n && list.length > 0; i++) list.pop(); }
  function sum() public view returns (uint s) { for (uint i = 0; i < list.length; i++) s += list[i]; }
  function emitting(uint topics, uint n, bytes calldata data, uint salt) public {
    for (uint i = 0; i < n; i++) {
      uint t = uint(keccak256(abi.encode(salt, i % 3)));
      bytes memory d = data;
      assembly {
        let at := add(d, 32)
        switch topics
        case 0 { log0(at, mload(d)) }
        case 1 { log1(at, mload(d), t) }
        case 2 { log2(at, mload(d), t, caller()) }
        case 3 { log3(at, mload(d), t, caller(), i) }
        default { log4(at, mload(d), t, caller(), i, number()) }
      }
    }
  }
  function fail(uint how) public returns (uint) {
    values[how] = 1;
    emit Made(address(this), how);
    if (how == 0) revert();
    require(how != 1, "one is refused");
    if (how == 2) revert Wrong(msg.sender, 42);
    if (how == 3) return how / (how - 3);
    if (how == 4) assert(false);
    if (how == 5) return list[list.length];
    assembly { invalid() }
  }
  event Made(address indexed what, uint value);
  function tryFail(uint how) public {
    (bool ok, bytes memory out) = address(this).call{gas: gasleft() / 2}(abi.encodeCall(this.fail, (how)));
    results[keccak256(out)] = ok ? 1 : 2;
    emit Made(msg.sender, out.length);
  }
  function spin(uint n) public view returns (uint x) { for (uint i = 0; i < n; i++) x = uint(keccak256(abi.encode(x, i))); }
  function context() public {
    values[1000] = block.number; values[1001] = block.timestamp; values[1002] = block.basefee;
    values[1003] = block.prevrandao; values[1004] = uint160(address(block.coinbase)); values[1005] = block.gaslimit;
    values[1006] = block.chainid; values[1007] = block.blobbasefee; values[1008] = tx.gasprice;
    values[1009] = uint160(tx.origin); values[1010] = uint(blobhash(0)); values[1011] = uint(blobhash(1));
    values[1012] = address(block.coinbase).balance; values[1013] = gasleft(); values[1014] = msg.sender.balance;
    values[1015] = uint(msg.sender.codehash);
  }
  function hashes(uint back) public {
    values[2000] = uint(blockhash(block.number - 1));
    if (block.number > back) values[2001] = uint(blockhash(block.number - back));
    values[2002] = uint(blockhash(block.number));
    if (block.number > 256) values[2003] = uint(blockhash(block.number - 256));
    if (block.number > 257) values[2004] = uint(blockhash(block.number - 257));
  }
  function view_(uint back) public view returns (uint[12] memory r) {
    r[0] = block.number; r[1] = block.timestamp; r[2] = block.basefee; r[3] = block.prevrandao;
    r[4] = uint160(address(block.coinbase)); r[5] = block.gaslimit; r[6] = block.chainid; r[7] = block.blobbasefee;
    r[8] = back < block.number ? uint(blockhash(block.number - back)) : 0; r[9] = address(this).balance;
    r[10] = uint(blockhash(block.number)); r[11] = address(block.coinbase).balance;
  }
  function transient_(uint n) public {
    uint before; uint afterwards;
    assembly { before := tload(7) for { let i := 0 } lt(i, n) { i := add(i, 1) } { tstore(i, add(tload(i), add(i, 1))) } afterwards := tload(7) }
    if (n > 3) this.transient_(n / 2);
    values[3000] = before; values[3001] = afterwards; values[3002 + n] = afterwards + before;
  }
  function precompile(address to, bytes calldata input) public {
    (bool ok, bytes memory out) = to.staticcall{gas: gasleft() - 200000}(input);
    results[keccak256(abi.encode(to, out))] = ok ? 1 : 2;
    emit Made(to, out.length);
  }
  function poke(address to, uint value, bytes calldata data) public payable {
    (bool ok, bytes memory out) = to.call{value: value}(data);
    values[4000] = ok ? 1 : 2; values[4001] = out.length; values[4002] = to.code.length; values[4003] = uint(to.codehash);
  }
  function create(bytes memory init, uint value) public payable returns (address made) {
    assembly { made := create(value, add(init, 32), mload(init)) }
    last = made; emit Made(made, made.code.length);
  }
  function create2(bytes memory init, bytes32 salt, uint value) public payable returns (address made) {
    assembly { made := create2(value, add(init, 32), mload(init), salt) }
    last = made; emit Made(made, made.code.length);
  }
  function flash(bytes32 salt, uint how) public payable {
    Mortal m = new Mortal{salt: salt, value: msg.value}();
    address payable to = how == 0 ? payable(address(m)) : how == 1 ? payable(msg.sender) : how == 2 ? payable(address(this)) : payable(address(uint160(uint(salt))));
    m.kill(to);
    values[5000] = m.born(); values[5001] = address(m).balance; values[5002] = address(m).code.length;
    if (how == 3) { (bool sent,) = address(m).call{value: 1}(""); values[5003] = sent ? 1 : 2; }
    try new Mortal{salt: salt, value: 0}() returns (Mortal) { values[5004] = 1; } catch { values[5004] = 2; }
    emit Made(address(m), how);
  }
  receive() external payable { ran += 1; }
}`;

export const contractNames = ['Token', 'Counter', 'DoubleCounter', 'Proxy', 'Mortal', 'Workshop'] as const;
export type ContractName = (typeof contractNames)[number];

let compiled: Readonly<Record<ContractName, Compiled>> | undefined;

export function workloadContracts(): Readonly<Record<ContractName, Compiled>> {
  if (compiled !== undefined) return compiled;
  const all = compileSolidity(source);
  const named = contractNames.map((name) => {
    const contract = all[name];
    if (contract === undefined) throw new Error(`solc left ${name} out`);
    return [name, contract] as const;
  });
  compiled = Object.fromEntries(named) as Record<ContractName, Compiled>;
  return compiled;
}
