import { Cell } from './cell.ts';

export type Theme = 'dark' | 'light';

const KEY = 'theme';
const system = matchMedia('(prefers-color-scheme: light)');

function wanted(): Theme {
  const chosen = localStorage.getItem(KEY);
  if (chosen === 'dark' || chosen === 'light') return chosen;
  return system.matches ? 'light' : 'dark';
}

export const theme = new Cell<Theme>(wanted());
document.documentElement.dataset['theme'] = theme.value;

function show(next: Theme): void {
  document.documentElement.dataset['theme'] = next;
  theme.set(next);
}

system.addEventListener('change', () => show(wanted()));

/** Takes the other one, and keeps it for the next visit. */
export function toggleTheme(): void {
  const next = theme.value === 'dark' ? 'light' : 'dark';
  localStorage.setItem(KEY, next);
  show(next);
}
