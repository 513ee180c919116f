import { render } from 'preact';
import { connect } from './api/live';
import { install } from './parts/safe';
import { follow } from './route';
import { Shell } from './shell';
import { dress } from './theme';
import './style/app.css';

install();
dress();
follow();
const root = document.getElementById('app');
if (root) render(<Shell />, root);
void connect();
