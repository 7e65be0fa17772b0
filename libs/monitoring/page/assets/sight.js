// Updates parts of the page that are out of sight a few times a minute only: with hundreds of processes most of an
// update's time is theirs.
const LATE_MS = 5000;

// Returns `show` for an element: called at once while the element is in sight, and otherwise every LATE_MS at most.
// The latest call that was left out is made when the element comes into sight.
export function whenSeen(element, show) {
  let inSight = true; // until it was observed
  let left = null; // the arguments that were left out
  let due = 0;
  const showNow = (...what) => {
    left = null;
    due = Date.now() + LATE_MS;
    show(...what);
  };
  new IntersectionObserver((entries) => {
    inSight = entries.at(-1).isIntersecting;
    if (inSight && left) showNow(...left);
  }, { rootMargin: '200px' }).observe(element);
  return (...what) => {
    if (inSight || Date.now() >= due) showNow(...what);
    else left = what;
  };
}
