// The session is where this page came from, by whatever name the browser knows that.
const socket = location.protocol === "https:" ? "wss:" : "ws:";
document.getElementById("terminal").dataset.sessionWebsocketUrl = `${socket}//${location.host}/ws`;

// The last word of the server is why the session ended, where it did not end as it should.
const listen = (message) => {
  if (typeof message.data !== "string") {
    return;
  }
  const [kind, told] = JSON.parse(message.data);
  if (kind === "ended") {
    document.getElementById("how").textContent = `The session ${told.how}.`;
    document.getElementById("why").textContent = told.said;
  }
};
window.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", listen);
  }
};

// What is typed goes to the screen from the moment it stands there, without a click.
const focus = () => {
  if (document.body.classList.contains("-first-byte")) {
    watcher.disconnect();
    document.querySelector(".xterm-helper-textarea")?.focus();
  }
};
const watcher = new MutationObserver(focus);
watcher.observe(document.body, { attributes: true, attributeFilter: ["class"] });
