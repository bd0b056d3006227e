// Tells the app of a user who signed in.
//
// Loaded by `page.html`. The message and the origins that may read it stand in the attributes of
// an element of `done.html`. Pages work without this script, but for the message.
//
// Folder: the pages to sign in at, but for their forms. Read `page.html`, then `done.html` and
// `page.js`.

"use strict";

const done = document.getElementById("done");
if (done && window.opener) {
  const message = JSON.parse(done.dataset.message);
  for (const origin of JSON.parse(done.dataset.origins)) {
    window.opener.postMessage(message, origin);
  }
  window.close();
}
