// The node's HTTP interface, as this page uses it.

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.message);
    this.status = status;
    this.kind = problem.kind;
    this.position = problem.position;
  }
}

export async function ask(method, path, body) {
  const options = { method, headers: {}, credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Refused(0, { kind: "offline", message: "" });
  }
  return answer(response.status, await response.text());
}

function answer(status, text) {
  let said = null;
  try {
    said = text ? JSON.parse(text) : null;
  } catch {
    said = null;
  }
  if (status >= 200 && status < 300) return said;
  throw new Refused(status, said?.error || { kind: "unknown", message: `HTTP ${status}` });
}

// The host's token and the key of an invitation come in the address's fragment, which is not sent with requests. The token
// becomes a cookie that no script sees. The key is given back: whoever has no session yet enters with it as a guest.
export async function enter() {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get("token");
  const key = given.get("guest") || sessionStorage.getItem("guest");
  if (given.get("guest")) sessionStorage.setItem("guest", key);
  if (given.get("guest")) history.replaceState(null, "", location.pathname + location.search);
  if (!token) return key;
  history.replaceState(null, "", location.pathname + location.search);
  await fetch("/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  return null;
}

export async function enterWith(token) {
  const response = await fetch("/v1/session", { method: "POST", headers: { Authorization: `Bearer ${token.trim()}` } });
  return response.ok;
}

export function upload(file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/gallery/photos?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => progress(event.loaded);
    request.onload = () => {
      try {
        resolve(answer(request.status, request.responseText));
      } catch (error) {
        reject(error);
      }
    };
    request.onerror = () => reject(new Refused(0, { kind: "offline", message: "" }));
    request.send(file);
  });
}

export const photoUrl = (photo, what) => `/v1/gallery/photos/${photo.id}/${what}${what === "thumb" ? `?${photo.here ? "h" : "c"}` : ""}`;
