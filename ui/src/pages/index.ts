// The pages, in the order of the navigation.
import type { FunctionComponent } from 'preact';
import { Config } from './config';
import { Drills } from './drills';
import { Incidents } from './incidents';
import { Models } from './models';
import { Overview } from './overview';
import { Playground } from './playground';
import { Providers } from './providers';
import { Requests } from './requests';
import { Simulate } from './simulate';
import { Usage } from './usage';

export const pages: { path: string; name: string; view: FunctionComponent }[] = [
  { path: 'overview', name: 'Overview', view: Overview },
  { path: 'providers', name: 'Providers', view: Providers },
  { path: 'models', name: 'Models', view: Models },
  { path: 'requests', name: 'Requests', view: Requests },
  { path: 'incidents', name: 'Incidents', view: Incidents },
  { path: 'playground', name: 'Playground', view: Playground },
  { path: 'simulate', name: 'Simulate', view: Simulate },
  { path: 'drills', name: 'Drills', view: Drills },
  { path: 'usage', name: 'Keys & usage', view: Usage },
  { path: 'config', name: 'Config', view: Config },
];
