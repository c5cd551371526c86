// Adding photos of this device, tagging them, publishing them.

import { ask, photoUrl, upload } from "./api.js";
import { button, dialog, el, icon } from "./dom.js";
import { complain, lift, say, sureToDelete } from "./notices.js";
import { put, state, tell } from "./state.js";
import { reason, size, t } from "./words.js";

const AT_ONCE = 2;

export function filePicker(camera) {
  const input = el("input", { type: "file", accept: "image/jpeg,image/png,image/webp,image/gif", multiple: !camera, capture: camera ? "environment" : null, hidden: true, "data-name": camera ? "camera" : "files", "aria-label": t("add_photos") });
  input.addEventListener("change", () => {
    addFiles([...input.files], state.view !== "private");
    input.value = "";
  });
  return input;
}

// Photos are shared at once, with the tag that all photos have; in the tab of private photos they stay private.
export async function addFiles(files, share = state.view !== "private") {
  if (!files.length) return;
  const total = files.reduce((sum, file) => sum + file.size, 0) || 1;
  const sent = new Map();
  const bar = el("progress", { max: total, value: 0, "aria-label": t("upload") });
  const words = el("p", { text: t("upload") });
  const toast = el("div", { class: "toast upload" }, words, bar);
  lift();
  document.getElementById("toasts").append(toast);
  const queue = [...files];
  const added = [];
  async function work() {
    for (let file = queue.shift(); file; file = queue.shift()) {
      const one = file;
      try {
        if (one.size > state.limits.photo_bytes) throw new Error(t("too_large", { most: size(state.limits.photo_bytes) }));
        const photo = await upload(one, (bytes) => {
          sent.set(one, Math.min(bytes, one.size));
          bar.value = [...sent.values()].reduce((sum, bytes) => sum + bytes, 0);
        });
        put(photo);
        added.push(photo.id);
        if (share) put(await ask("POST", `/v1/gallery/photos/${photo.id}/publish`, { tags: [] }));
      } catch (error) {
        say(t("upload_failed", { name: one.name, why: reason(error) }), { kind: "bad", stay: 9000 });
      }
      sent.set(one, one.size);
      words.textContent = `${t("upload")}: ${t("uploaded", { done: sent.size, all: files.length })}`;
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  toast.remove();
  if (added.length) {
    if (share) say(t("shared_done", { n: added.length }), { kind: "good", action: () => { location.hash = "publications"; }, label: t("publications") });
    else say(t("upload_done", { n: added.length }), { kind: "good", action: () => tell("publish", added), label: t("publish") });
  }
}

// An input for tags with those that were seen to choose from. Gives the element and what was chosen.
export function tagInput(given = []) {
  const chosen = new Set(given);
  const chips = el("div", { class: "chips chosen-tags" });
  const hint = el("p", { class: "faint", id: "tags-hint", text: t("tags_hint") });
  const input = el("input", { type: "text", id: "tags-input", autocomplete: "off", autocapitalize: "none", maxlength: 140, "aria-describedby": "tags-hint", "data-name": "tags" });
  const offered = el("div", { class: "chips", role: "group", "aria-label": t("suggestions") });
  const label = el("label", { for: "tags-input", text: t("tags") });

  function take(text) {
    for (const part of text.split(",")) {
      const tag = part.trim().replace(/^#+/, "").trim().toLocaleLowerCase();
      if (tag) chosen.add(tag);
    }
    input.value = "";
    render();
  }
  function render() {
    chips.replaceChildren(...[...chosen].map((tag) => el("button", { type: "button", class: "chip on", "aria-label": t("remove_tag", { tag }), onclick: () => { chosen.delete(tag); render(); } }, `#${tag}`, icon("close"))));
    const begun = input.value.trim().toLocaleLowerCase();
    const some = state.tags.filter((tag) => !chosen.has(tag) && tag.startsWith(begun)).slice(0, 12);
    offered.replaceChildren(...some.map((tag) => el("button", { type: "button", class: "chip", "aria-label": t("add_tag", { tag }), onclick: () => take(tag) }, `#${tag}`)));
  }
  input.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === ",") && input.value.trim()) {
      event.preventDefault();
      take(input.value);
    } else if (event.key === "Backspace" && !input.value && chosen.size) {
      chosen.delete([...chosen].pop());
      render();
    }
  });
  input.addEventListener("input", render);
  render();
  return { root: el("div", { class: "field" }, label, chips, input, hint, offered), input, take, tags: () => { take(input.value); return [...chosen]; } };
}

function strip(photos) {
  return el("div", { class: "strip" }, photos.slice(0, 8).map((photo) => el("img", { src: photoUrl(photo, "thumb"), alt: photo.name })), photos.length > 8 && el("span", { text: `+${photos.length - 8}` }));
}

const common = (photos) => photos[0]?.tags.filter((tag) => photos.every((photo) => photo.tags.includes(tag))) ?? [];

export function publishDialog(ids) {
  const photos = ids.map((id) => state.photos.get(id)).filter((photo) => photo?.state === "private");
  if (!photos.length) return;
  const tags = tagInput(common(photos));
  const keep = el("input", { type: "checkbox", id: "keep-location", "aria-describedby": "keep-hint" });
  const wrong = el("p", { class: "error", role: "alert" });
  const bar = el("progress", { max: photos.length, value: 0, hidden: true, "aria-label": t("publishing") });
  const go = el("button", { class: "button primary", type: "submit", "data-name": "publish-now" }, icon("share"), el("span", { text: t("publish") }));
  const form = el("form", { method: "dialog" }, strip(photos), tags.root,
    el("div", { class: "check" }, keep, el("div", {}, el("label", { for: "keep-location", text: t("keep_location") }), el("p", { class: "faint", id: "keep-hint", text: t("keep_location_hint") }))),
    wrong, bar, el("div", { class: "row end" }, go));
  const box = dialog(t("publish_title", { n: photos.length }), form, { name: "publish" });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = tags.tags();
    go.disabled = true;
    bar.hidden = false;
    let done = 0;
    for (const photo of photos) {
      try {
        put(await ask("POST", `/v1/gallery/photos/${photo.id}/publish`, { tags: given, keep_location: keep.checked }));
        done += 1;
      } catch (error) {
        complain(error);
      }
      bar.value += 1;
    }
    box.close();
    state.chosen.clear();
    tell("chosen");
    if (done) say(done === 1 ? t("published", { name: photos[0].name }) : t("published_many", { n: done }), { kind: "good" });
  });
  tags.input.focus();
}

export function tagDialog(ids) {
  const photos = ids.map((id) => state.photos.get(id)).filter((photo) => photo?.state === "private");
  if (!photos.length) return;
  const before = common(photos);
  const tags = tagInput(before);
  const form = el("form", { method: "dialog" }, strip(photos), tags.root, el("div", { class: "row end" }, el("button", { class: "button primary", type: "submit" }, el("span", { text: t("save") }))));
  const box = dialog(t("tag_title", { n: photos.length }), form, { name: "tag" });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = tags.tags();
    for (const photo of photos) {
      const own = photo.tags.filter((tag) => !before.includes(tag));
      try {
        put(await ask("PATCH", `/v1/gallery/photos/${photo.id}`, { tags: [...new Set([...own, ...given])] }));
      } catch (error) {
        complain(error);
      }
    }
    box.close();
  });
}

// What can be done with all that is selected.
export function selectionBar() {
  const ids = [...state.chosen];
  const photos = ids.map((id) => state.photos.get(id)).filter(Boolean);
  const all = (...states) => photos.length > 0 && photos.every((photo) => states.includes(photo.state));
  const each = (what, states) => async () => {
    if (what === "delete" && !(await sureToDelete(photos))) return;
    for (const photo of photos.filter((one) => states.includes(one.state))) {
      try {
        const answer = await (what === "delete" ? ask("DELETE", `/v1/gallery/photos/${photo.id}`) : ask("POST", `/v1/gallery/photos/${photo.id}/${what}`));
        if (answer) put(answer);
      } catch (error) {
        complain(error);
      }
    }
    if (what === "delete" && all("published", "deleting")) say(t("deleted_all_soon", { n: photos.length }));
    state.chosen.clear();
    tell("chosen");
  };
  const archive = `/v1/gallery/archive?${photos.map((photo) => `id=${photo.id}`).join("&")}`;
  const open = ["new", "later", "failed"];
  return el("div", { class: "selection", role: "toolbar", "aria-label": t("chosen", { n: ids.length }) },
    button(t("clear"), { icon: "close", quiet: true, onclick: () => { state.chosen.clear(); tell("chosen"); } }),
    el("strong", { text: t("chosen", { n: ids.length }) }),
    el("span", { class: "spring" }),
    all("private") && button(t("publish"), { icon: "share", kind: "primary", name: "publish-chosen", onclick: () => tell("publish", ids) }),
    all("private") && button(t("tag"), { icon: "tag", onclick: () => tagDialog(ids) }),
    all(...open) && button(t("download"), { icon: "download", kind: "primary", onclick: each("download", open) }),
    all("new") && button(t("later"), { icon: "later", onclick: each("later", ["new"]) }),
    all(...open) && button(t("dismiss"), { icon: "close", onclick: each("dismiss", open) }),
    all("private", "published", "downloaded") && el("a", { class: "button", href: archive, download: "photos.zip", "data-name": "archive" }, icon("download"), el("span", { text: t("archive") })),
    all("private", "published", "downloaded") && button(t("delete"), { icon: "trash", onclick: each("delete", ["private", "published", "downloaded"]) }));
}
