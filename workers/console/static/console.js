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
