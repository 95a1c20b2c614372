// The session is where this page came from, by whatever name the browser knows that.
const socket = location.protocol === "https:" ? "wss:" : "ws:";
document.getElementById("terminal").dataset.sessionWebsocketUrl = `${socket}//${location.host}/ws`;

// A reload joins the session of this tab again; a new tab joins one of this browser that has no tab any more.
const sessions = () => (localStorage.getItem("sessions") ?? "").split(",").filter(Boolean);
const isNew = location.search === "?new";
if (isNew) {
  sessionStorage.removeItem("session");
  history.replaceState(null, "", "/");
}

let isOver = false;
const end = (how, said, next, address) => {
  isOver = true;
  document.getElementById("how").textContent = how;
  document.getElementById("why").textContent = said;
  document.getElementById("next").textContent = next;
  document.getElementById("next").href = address;
  document.body.classList.add("-closed");
};

// A page that loads again is drawn anew: all that it needs is that the server answers.
const retry = () => fetch("/page.js").then(() => location.reload(), wait);
const wait = () => setTimeout(retry, 2000);
const lose = () => {
  if (!isOver) {
    end("The connection was lost. This page joins the session again when the server answers.", "", "", "/");
    wait();
  }
};

let isAnswered = true;
const listen = (message) => {
  isAnswered = true;
  if (typeof message.data !== "string") {
    return;
  }
  const [kind, told] = JSON.parse(message.data);
  if (kind === "session") {
    sessionStorage.setItem("session", told);
    localStorage.setItem("sessions", [told, ...sessions().filter((each) => each !== told)].slice(0, 20));
  } else if (kind === "ended") {
    sessionStorage.removeItem("session");
    end(`The session ${told.how}.`, told.said, "Start another one", "/?new");
  } else if (kind === "moved") {
    end("The session is shown in another tab now.", "", "Continue it here", "/");
  }
};

window.WebSocket = class extends WebSocket {
  constructor(address) {
    const asked = new URL(address);
    const own = sessionStorage.getItem("session");
    if (own !== null) {
      asked.searchParams.set("session", own);
    } else if (!isNew) {
      asked.searchParams.set("waiting", sessions());
    }
    super(asked);
    this.addEventListener("message", listen);
    this.addEventListener("close", lose);
    // After sleep, or in another network, nobody says that the connection is gone.
    setInterval(() => {
      if (!isAnswered) {
        lose();
      } else if (this.readyState === WebSocket.OPEN) {
        isAnswered = false;
        this.send('["alive"]');
      }
    }, 10000);
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
