// Whether the node in this container lives (/livez) or should get requests (/readyz): asks its admin listener, ends with 0 or 1.
// `node healthcheck.js [PATH]`. The address is that of CHAIN_QUERY_ADMIN, on loopback.
const [path = '/livez'] = process.argv.slice(2);
const port = (process.env.CHAIN_QUERY_ADMIN ?? '127.0.0.1:8547').split(':').at(-1);
try {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(4_000) });
  console.log((await response.text()).trim().slice(0, 1_000));
  process.exitCode = response.ok ? 0 : 1;
} catch (error) {
  console.log(`the admin listener does not answer: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
