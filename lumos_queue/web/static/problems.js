// Show the errors of parts of a page on the page: htmx does not insert error answers, so that they would be invisible.
(function () {
  "use strict";
  var line = null;
  var tell = function (text) {
    if (!line) {
      line = document.createElement("p");
      line.className = "warning";
      line.setAttribute("role", "alert");
    }
    line.textContent = text;
    document.getElementById("main").prepend(line);
    line.scrollIntoView({block: "nearest"});
  };
  document.addEventListener("htmx:responseError", function (event) {
    tell(event.detail.xhr.responseText.slice(0, 500) || "The server answers with an error: load the page again.");
  });
  document.addEventListener("htmx:sendError", function () { tell("The server does not answer: try again in a while."); });
  document.addEventListener("htmx:afterSwap", function () { if (line) { line.remove(); } });
})();
