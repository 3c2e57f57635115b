/** A dependency and the licence that it names, as an SPDX expression. */
export interface Licensed {
  readonly name: string;
  readonly licence: string | undefined;
  /** Users get it: it is installed with the program, or compiled into the addon. */
  readonly ships: boolean;
}

/** Licences that anything may have, and why. */
export const ALLOWED: Readonly<Record<string, string>> = {
  '0BSD': 'asks for nothing',
  'Apache-2.0': 'our own',
  'BlueOak-1.0.0': 'permissive, with a grant of patents',
  'BSD-2-Clause': 'permissive: its notice is kept',
  'BSD-3-Clause': 'permissive: its notice is kept',
  'CC0-1.0': 'public domain',
  ISC: 'permissive: its notice is kept',
  MIT: 'permissive: its notice is kept',
  'MIT-0': 'asks for nothing',
  'Unicode-3.0': 'permissive: its notice is kept; tables of characters',
  Unlicense: 'public domain',
  Zlib: 'permissive: no notice in binaries',
};

/** Licences of what only a checkout has: nothing of it is passed on. */
export const ALLOWED_IN_CHECKOUT: Readonly<Record<string, string>> = {
  'MPL-2.0':
    'asks to publish changes to its own files, and we make none: axe-core and a CSS minifier, run in tests and builds',
};

/** Packages that name none where it is looked for, and what was found. */
export const NAMED_ELSEWHERE: Readonly<Record<string, string>> = {
  // In the field `licenses` of old; solc depends on it.
  memorystream: 'MIT',
};

/** Dependencies whose licence is missing, or not allowed, in words. */
export function refused(dependencies: readonly Licensed[]): readonly string[] {
  return dependencies.flatMap(({ name, licence = NAMED_ELSEWHERE[name], ships }) => {
    if (licence === undefined) return [`${name} names no licence`];
    const isAllowed = (one: string): boolean =>
      Object.hasOwn(ALLOWED, one) || (!ships && Object.hasOwn(ALLOWED_IN_CHECKOUT, one));
    return holds(licence, isAllowed) ? [] : [`${name} has a licence that is not allowed: ${licence}`];
  });
}

/** Whether an expression can be met by allowed licences. Exceptions (`WITH`) only ever allow more. */
export function holds(expression: string, isAllowed: (licence: string) => boolean): boolean {
  // Crates of old write a choice as `MIT/Apache-2.0`.
  const words = expression.replaceAll('/', ' OR ').match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const choice = (): boolean => {
    let holding = all();
    while (words[at] === 'OR') {
      at++;
      // Read in any case: the rest of the expression follows.
      holding = all() || holding;
    }
    return holding;
  };
  const all = (): boolean => {
    let holding = one();
    while (words[at] === 'AND') {
      at++;
      holding = one() && holding;
    }
    return holding;
  };
  const one = (): boolean => {
    const word = words[at++];
    if (word !== '(') {
      if (words[at] === 'WITH') at += 2;
      return word !== undefined && isAllowed(word);
    }
    const holding = choice();
    return words[at++] === ')' && holding;
  };
  const holding = choice();
  return holding && at === words.length;
}
