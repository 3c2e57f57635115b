// Preloaded into our node: how much CPU time serving threads spend between two looks at their timers, which is at least
// what the longest piece of work took. Collections that our node asks for once an attack is over count apart. For tests only.
import { appendFileSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const file = process.env.TURN_PROBE_FILE;
if (file !== undefined && workerData?.endpoints !== undefined) {
  let last = process.threadCpuUsage();
  let longestMs = 0;
  let longestCollectionMs = 0;
  const msSince = (before) => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  const endTurn = () => {
    longestMs = Math.max(longestMs, msSince(last));
    last = process.threadCpuUsage();
  };
  setInterval(endTurn, 5).unref();
  setInterval(() => {
    appendFileSync(file, `${Date.now()} ${longestMs.toFixed(1)} ${longestCollectionMs.toFixed(1)}\n`);
    longestMs = 0;
    longestCollectionMs = 0;
  }, 200).unref();
  const { gc } = globalThis;
  globalThis.gc = (options) => {
    endTurn();
    void gc(options);
    longestCollectionMs = Math.max(longestCollectionMs, msSince(last));
    last = process.threadCpuUsage();
  };
}
