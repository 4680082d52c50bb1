// What runs inside the pages. All measure with the page's own clock; `watch` is done before the file is chosen, and `window.bench` is what came of it.

const ready = (selector) => `document.readyState === 'complete' && !!document.querySelector('${selector}')`;

// A bare page that does `send` with the file once it is chosen, and measures it from then on.
const bare = (send) => ({
  file: '#file',
  ready: ready('#file'),
  watch: `(() => {
    const send = ${send};
    window.bench = new Promise((resolve, reject) => {
      document.querySelector('#file').addEventListener('change', ({ target }) => {
        const start = performance.now();
        const done = (bytes) => resolve({ seconds: (performance.now() - start) / 1000, bytes });
        send(target.files[0], done, reject);
      });
    });
    return true;
  })()`,
});

// The floor: the file as a slice, not the bare File, which Chromium reads in far smaller pieces.
export const sink = bare(`(file, done, reject) => {
  const request = new XMLHttpRequest();
  request.open('PUT', '/');
  request.onload = () => done(Number(request.responseText));
  request.onerror = () => reject(new Error('the upload failed'));
  request.send(file.slice(0, file.size));
}`);

// Slices of 1 MiB by a WebSocket, each sent when the one before was answered.
export const stopAndWait = bare(`(file, done, reject) => {
  const socket = new WebSocket(location.origin.replace('http', 'ws') + '/ws');
  let sent = 0;
  const next = () => {
    socket.send(file.slice(sent, sent + (1 << 20)));
    sent = Math.min(file.size, sent + (1 << 20));
  };
  socket.onopen = next;
  socket.onmessage = ({ data }) => {
    if (sent < file.size) return next();
    done(Number(data));
    socket.close();
  };
  socket.onerror = () => reject(new Error('the connection failed'));
}`);

// The real page, which only is watched. The selectors are part of its contract with the tests.
export const upload = {
  file: '#file',
  ready: ready('#file'),
  watch: `(() => {
    window.bench = new Promise((resolve, reject) => {
      let start, histogramSeconds = null;
      const elapsed = () => (performance.now() - start) / 1000;
      const look = () => {
        if (start === undefined) return;
        const histogram = document.querySelector('[data-testid=histogram]');
        if (histogramSeconds === null && Number(histogram?.dataset.bucketSeconds) > 0) histogramSeconds = elapsed();
        const state = document.querySelector('[data-testid=state]')?.dataset.state;
        if (state === 'finished') resolve({ seconds: elapsed(), histogram_seconds: histogramSeconds });
        if (['failed', 'interrupted', 'cancelled'].includes(state)) reject(new Error('the page says ' + state));
      };
      new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, attributes: true });
      document.querySelector('#file').addEventListener('change', () => { start = performance.now(); }, { capture: true });
    });
    return true;
  })()`,
};

// "Test this connection" of the real page, which tells the rate of each way, or its trouble, by itself.
export const connection = {
  file: '#connection-file',
  ready: ready('#connection-file'),
  start: '#connection-start',
  watch: `(() => {
    const result = ({ dataset: { way, bytes, bytesPerSecond, trouble } }) =>
      trouble ? { way, failure: trouble } : { way, bytes: Number(bytes), seconds: Number(bytes) / Number(bytesPerSecond) };
    const results = () =>
      [...document.querySelectorAll('[data-way]')].map(result).filter(({ seconds, failure }) => seconds > 0 || failure);
    const reached = (count) => new Promise((resolve) => {
      const look = () => results().length >= count && resolve(results());
      new MutationObserver(look).observe(document.documentElement, { subtree: true, childList: true, attributes: true });
    });
    window.first = reached(1);
    window.bench = reached(2);
    return true;
  })()`,
};
