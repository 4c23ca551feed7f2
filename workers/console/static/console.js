"use strict";
// Without this file every page and every action works too, only without the question.
document.addEventListener("submit", (event) => {
  const question = event.submitter && event.submitter.dataset.question;
  if (question && !window.confirm(question)) event.preventDefault();
});
// A stored value that the user empties is removed: its field must not count as kept.
document.addEventListener("input", (event) => {
  const field = event.target;
  if (!field.name || !field.name.startsWith("p.") || field.type === "password") return;
  const kept = field.form.elements["keep." + field.name.slice(2)];
  if (kept) kept.disabled = true;
});
