/** Why a store or snapshot of another form is refused, and what to do. The forms are numbered: a higher one is newer. */
export function otherForm(what: string, stored: unknown, reads: number): string {
  if (typeof stored !== 'number' || !Number.isInteger(stored))
    return `${what} does not say its form, and this program reads form ${reads}`;
  return stored > reads
    ? `${what} has form ${stored}, which a newer release wrote, and this program reads form ${reads}: use that release, or one after it (docs/upgrading.md)`
    : `${what} has form ${stored}, and this program reads form ${reads} and no longer the older one: use the release that wrote it, or copy the chain into a new one (docs/upgrading.md)`;
}
