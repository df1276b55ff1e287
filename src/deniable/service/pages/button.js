/**
 * For other sites: a button, after the script's own place, that opens the answer page of a survey in a tab of its own,
 * which knows nothing of the site it was opened from and tells it nothing.
 */
{
  const { dataset, src } = document.currentScript;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = dataset.label;
  button.addEventListener("click", () =>
    open(new URL(`/answer/${dataset.survey}`, src), "_blank", "noopener,noreferrer"),
  );
  document.currentScript.after(button);
}
