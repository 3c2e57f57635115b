import { render } from 'preact';
import { App } from './app.tsx';
import { connect } from './feed.ts';
import './styles.css';

const place = document.getElementById('app');
if (place === null) throw new Error('the page has no place for the app');
connect();
render(<App />, place);
