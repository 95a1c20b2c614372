// The session is where this page came from, by whatever name the browser knows that.
const socket = location.protocol === "https:" ? "wss:" : "ws:";
document.getElementById("terminal").dataset.sessionWebsocketUrl = `${socket}//${location.host}/ws`;

// What is typed goes to the screen from the moment it stands there, without a click.
const focus = () => {
  if (document.body.classList.contains("-first-byte")) {
    watcher.disconnect();
    document.querySelector(".xterm-helper-textarea")?.focus();
  }
};
const watcher = new MutationObserver(focus);
watcher.observe(document.body, { attributes: true, attributeFilter: ["class"] });
