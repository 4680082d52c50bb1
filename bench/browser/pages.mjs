// What runs inside the two pages. Both measure from the moment at which the file is chosen, with the page's own clock.

// The floor: a bare page that sends the file as the fastest way there is (a slice, not the bare File: see ANCHORS).
export const sink = {
  ready: `document.readyState === 'complete' && !!document.querySelector('#file')`,
  watch: `
    window.bench = new Promise((resolve, reject) => {
      document.querySelector('#file').addEventListener('change', ({ target }) => {
        const start = performance.now();
        const file = target.files[0];
        const request = new XMLHttpRequest();
        request.open('PUT', '/');
        request.onload = () => resolve({
          seconds: (performance.now() - start) / 1000,
          bytes: Number(request.responseText),
        });
        request.onerror = () => reject(new Error('the upload failed'));
        request.send(file.slice(0, file.size));
      });
    });
    true`,
};

// The real page, which only is watched. Both selectors are part of its contract with the tests.
export const rorqual = {
  ready: `document.readyState === 'complete' && !!document.querySelector('#file')`,
  watch: `
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
    true`,
};
