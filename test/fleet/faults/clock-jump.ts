// Loaded before a node of a test: moves what its wall clock says by the milliseconds in a file. The steady clock stays, as it does
// when a machine's time is set. Injected, since a test must not set the time of the machine.
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_FILE'];
const real = Date.now.bind(Date);
let offset = 0;
if (file !== undefined) {
  const look = (): void => {
    offset = Number(readFileSync(file, 'utf8'));
  };
  look();
  setInterval(look, 20).unref();
  Date.now = () => real() + offset;
}
