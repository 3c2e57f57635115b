// Without the fonts of the default theme: those of the reader's system are there already.
import DefaultTheme from 'vitepress/theme-without-fonts';
import './style.css';

export default DefaultTheme;
