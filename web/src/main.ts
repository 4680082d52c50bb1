import { mount } from 'svelte'
import 'uplot/dist/uPlot.min.css'
import './app.css'
import App from './App.svelte'
import { prefs } from './lib/prefs.svelte'
import { store } from './lib/state.svelte'
import { views } from './lib/views.svelte'

prefs.start()
mount(App, { target: document.body })
views.start()
void store.start()
