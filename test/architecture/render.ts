import { MODULES, ROOMS, type Room } from './table.ts';

type Rooms = Readonly<Record<string, Room>>;

/** Nearly every room uses these: arrows to them would hide all others. */
const GROUND = new Set(['primitives', 'chain', 'telemetry', 'config']);

const folderOf = (room: string): string => room.split('/', 1)[0] ?? room;
const idOf = (room: string): string => room.replaceAll(/[^a-z]/g, '_');

/** Whether one room uses another, at once or by others. */
function uses(rooms: Rooms, from: string, to: string): boolean {
  return rooms[from]?.imports.some((next) => next === to || uses(rooms, next, to)) ?? false;
}

/** The rooms as a Mermaid graph, by folder; an arrow that another way goes too is left out. */
function renderPicture(rooms: Rooms): string {
  const shown = Object.keys(rooms).filter((room) => !GROUND.has(room));
  const folders = Map.groupBy(shown, folderOf);
  const boxes = [...folders].flatMap(([folder, members]) => {
    const nodes = members.map((room) => `${idOf(room)}["${room}"]`);
    if (members.length === 1) return nodes.map((node) => `  ${node}`);
    return [`  subgraph ${folder}_rooms [${folder}]`, ...nodes.map((node) => `    ${node}`), '  end'];
  });
  const arrows = shown.flatMap((from) => {
    const targets = (rooms[from]?.imports ?? []).filter((to) => !GROUND.has(to));
    return targets
      .filter((to) => !targets.some((by) => uses(rooms, by, to)))
      .map((to) => `  ${idOf(from)} --> ${idOf(to)}`);
  });
  return ['```mermaid', 'graph TD', ...boxes, ...arrows, '```'].join('\n');
}

/** The picture and the table of rooms, for ARCHITECTURE.md. */
export function renderRooms(rooms: Rooms = ROOMS): string {
  const rows = Object.entries(rooms).map(([room, { holds, imports }]) => {
    const path = room.endsWith('.ts') ? `src/${room}` : `src/${room}/`;
    return `| \`${path}\` | ${holds} | ${imports.length === 0 ? 'nothing' : imports.join(', ')} |`;
  });
  return [renderPicture(rooms), '', '| room | holds | imports |', '|---|---|---|', ...rows].join('\n');
}

/** The modules of the native core, for ARCHITECTURE.md. */
export function renderModules(): string {
  const rows = Object.entries(MODULES).map(
    ([name, others]) => `| \`${name}\` | ${others.length === 0 ? 'nothing' : others.join(', ')} |`,
  );
  return ['| module | uses |', '|---|---|', ...rows].join('\n');
}
