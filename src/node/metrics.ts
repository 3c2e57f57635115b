import type { Registry } from 'prom-client';
import { type AdminModules, knownReadiness, NOT_READY_REASONS } from '../rpc/admin/server.ts';
import type { Pulse } from '../telemetry/heartbeat.ts';
import { gaugesIn } from '../telemetry/metrics.ts';

/** Measures what /readyz says. */
export function measureReadiness(registry: Registry, readiness: AdminModules['readiness']): void {
  const gauge = gaugesIn(registry);
  gauge('ready', '1 when requests should be sent here, as /readyz says.', [], async (own) => {
    const { reasons } = await knownReadiness(readiness);
    own.set(reasons.length === 0 ? 1 : 0);
  });
  gauge(
    'not_ready',
    '1 for each reason for which requests should not be sent here.',
    ['reason'],
    async (own) => {
      const { reasons } = await knownReadiness(readiness);
      for (const reason of NOT_READY_REASONS) {
        own.set({ reason }, reasons.some((one) => one.reason === reason) ? 1 : 0);
      }
    },
  );
}

/** Measures how long serving threads have given no sign of life. */
export function measureSilence(registry: Registry, pulse: Pulse): void {
  const help = 'Time since each serving thread last gave a sign of life.';
  gaugesIn(registry)('worker_silent_seconds', help, ['worker'], (own) => {
    for (const [worker, ms] of pulse.silentMs().entries()) own.set({ worker }, ms / 1_000);
  });
}
