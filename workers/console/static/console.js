"use strict";
// Without this file every page and every action works too, only without the question.
document.addEventListener("submit", (event) => {
  const question = event.submitter && event.submitter.dataset.question;
  if (question && !window.confirm(question)) event.preventDefault();
});
// The fields that the user has visited. An empty one shows no error before.
const touched = new Set();
document.addEventListener("focusout", (event) => touched.add(event.target.name));
// A stored value that the user empties is removed: its field must not count as kept.
document.addEventListener("input", (event) => {
  const field = event.target;
  touched.add(field.name);
  if (!field.name || !field.name.startsWith("p.") || field.type === "password") return;
  const kept = field.form.elements["keep." + field.name.slice(2)];
  if (kept) kept.disabled = true;
});
// A part that cannot be loaded says so: what it shows may no longer be true.
const opened = new Date();
const loaded = new WeakMap();
const alerts = new WeakMap();
function complain(event, reason) {
  const part = event.detail.target;
  const alert = alerts.get(part) || document.createElement("p");
  const text = "Not updated since " + (loaded.get(part) || opened).toTimeString().slice(0, 8) + ": " + reason;
  // The same text again would be read aloud again.
  if (alert.textContent !== text) alert.textContent = text;
  part.querySelectorAll("[data-waits]").forEach((words) => words.remove());
  if (alerts.has(part)) return;
  alert.className = "notice bad";
  alert.setAttribute("role", "alert");
  part.before(alert);
  alerts.set(part, alert);
}
document.addEventListener("htmx:sendError", (event) => complain(event, "The worker does not answer."));
document.addEventListener("htmx:timeout", (event) => complain(event, "The worker does not answer."));
document.addEventListener("htmx:responseError", (event) => {
  const answer = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html").querySelector("[role=alert]");
  complain(event, answer ? answer.textContent : "The worker answered with the status " + event.detail.xhr.status + ".");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.successful) return;
  const part = event.detail.target;
  loaded.set(part, new Date());
  if (alerts.has(part)) alerts.get(part).remove();
  alerts.delete(part);
});
// A part that is loaded again and again keeps what the user has opened, scrolled and focused.
const answers = new WeakMap();
const kept = new WeakMap();
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target: part, serverResponse: answer } = event.detail;
  if (!part.matches("[data-polled]") || !event.detail.shouldSwap) return;
  if (answers.get(part) === answer) {
    event.detail.shouldSwap = false;
    return;
  }
  answers.set(part, answer);
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  const places = [...part.querySelectorAll("[id]")].map((each) => [each.id, each.open, each.scrollTop, each.scrollLeft]);
  kept.set(part, { focused, places });
});
document.addEventListener("htmx:afterSwap", (event) => {
  const before = kept.get(event.target);
  if (!before) return;
  before.places.forEach(([id, open, top, left]) => {
    const now = document.getElementById(id);
    if (!now) return;
    if (open) now.open = true;
    now.scrollTo(left, top);
  });
  const focused = before.focused && document.getElementById(before.focused);
  if (focused) focused.focus({ preventScroll: true });
});
// The results of the checks also stand at their fields, where the eye is while it types.
document.addEventListener("htmx:afterSwap", (event) => {
  const findings = event.target;
  if (findings.id !== "findings") return;
  const form = document.getElementById("editor");
  form.querySelectorAll(".field > .error").forEach((old) => old.remove());
  const described = (field) => (document.getElementById(field.id + "-doc") ? field.id + "-doc" : "");
  form.querySelectorAll("[aria-invalid]").forEach((field) => {
    field.removeAttribute("aria-invalid");
    field.setAttribute("aria-describedby", described(field));
  });
  findings.querySelectorAll("[data-property]").forEach((finding) => {
    const property = finding.dataset.property;
    const field = form.elements["p." + property] || (property === "name" && form.elements.namedItem("name"));
    if (!field || !finding.dataset.error || (!field.value && !touched.has(field.name))) return;
    const known = document.getElementById(field.id + "-error");
    if (known) {
      // A value may have several errors.
      known.textContent += "\n" + finding.dataset.error;
      return;
    }
    const text = document.createElement("p");
    text.className = "error";
    text.id = field.id + "-error";
    text.textContent = finding.dataset.error;
    field.after(text);
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", (text.id + " " + described(field)).trim());
    // A folded group would hide it.
    const folded = field.closest("details");
    if (folded) folded.open = true;
  });
});
