import type { JSX } from 'preact';
import { BlockPanel } from './block-panel.tsx';
import { EventsPanel } from './events-panel.tsx';
import { RequestsPanel } from './requests-panel.tsx';
import { AccuracyPanel, RefusalsPanel, ResourcesPanel } from './small-panels.tsx';
import { SourcesPanel } from './sources-panel.tsx';
import { Tiles } from './tiles.tsx';

/** Everything of the node at a glance. */
export function Overview(): JSX.Element {
  return (
    <div class="overview">
      <Tiles />
      <BlockPanel />
      <RequestsPanel />
      <div class="side">
        <SourcesPanel />
        <EventsPanel />
      </div>
      <ResourcesPanel />
      <AccuracyPanel />
      <RefusalsPanel />
    </div>
  );
}
