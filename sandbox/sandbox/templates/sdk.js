// The JavaScript SDK of the platform, as far as embedded signup needs it: FB.init and FB.login.
(() => {
  "use strict";
  const base = new URL(document.currentScript.src).origin;
  const POLL = 200;
  // Messages of a closing window may arrive shortly after it is closed.
  const LAST_WORDS = 400;
  let settings = null;

  function address(parameters, state) {
    const query = new URLSearchParams({
      client_id: settings.appId,
      display: "popup",
      origin: location.origin,
      state,
    });
    for (const [name, value] of Object.entries(parameters)) {
      query.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
    }
    return base + "/" + settings.version + "/dialog/oauth?" + query;
  }

  function follow(popup, state, callback) {
    let timer = 0;
    function finish(code) {
      clearInterval(timer);
      removeEventListener("message", hear);
      callback(code
        ? {authResponse: {userID: null, expiresIn: null, code}, status: "connected"}
        : {authResponse: null, status: "unknown"});
    }
    // As on the platform, the SDK's own messages are not JSON, and listeners must expect them.
    function hear(event) {
      if (event.origin !== base || typeof event.data !== "string") return;
      const told = new URLSearchParams(event.data);
      if (told.get("cb") === state) finish(told.get("code"));
    }
    addEventListener("message", hear);
    timer = setInterval(() => {
      if (!popup.closed) return;
      clearInterval(timer);
      timer = setTimeout(finish, LAST_WORDS, null);
    }, POLL);
  }

  window.FB = {
    init(given) {
      settings = given;
    },
    login(callback, parameters = {}) {
      if (settings === null) {
        console.warn("FB.login() called before FB.init().");
        return;
      }
      const state = "f" + crypto.getRandomValues(new Uint32Array(2)).join("");
      const popup = window.open(address(parameters, state), "_blank", "width=600,height=760");
      // The page gets no error if the browser blocks the window, like with the platform's SDK.
      if (popup) follow(popup, state, callback);
    },
  };
  if (typeof window.fbAsyncInit === "function") window.fbAsyncInit();
})();
