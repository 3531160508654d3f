"use strict";
const host = "org.prsnld.capture";

async function selection(tab, isLast = false) {
  try {
    const [frame] = await chrome.scripting.executeScript({ target: { tabId: tab.id }, func: () => String(getSelection()) });
    return frame.result;
  } catch {
    // No extension may read it, or it has not yet heard that the click allows that.
    if (isLast) return null;
    await new Promise(done => setTimeout(done, 200));
    return selection(tab, true);
  }
}

async function capture(url, title, tab, chosen) {
  const message = { url };
  if (title) message.title = title;
  if (chosen) message.selection = chosen;
  let answer;
  try { answer = await chrome.runtime.sendNativeMessage(host, message); } catch (error) { answer = { error: String(error) }; }
  const text = answer.error ? "!" : "✓";
  chrome.action.setBadgeText({ tabId: tab.id, text });
  const unread = chosen === null ? "What is marked could not be read." : "";
  chrome.action.setTitle({ tabId: tab.id, title: answer.error ?? `Queued as ${answer.queued}. ${answer.left_out ?? unread}` });
}

chrome.runtime.onInstalled.addListener(() => {
  chrome.contextMenus.create({ id: "link", title: "Capture this link", contexts: ["link"] });
});
chrome.contextMenus.onClicked.addListener((info, tab) => capture(info.linkUrl, info.linkText, tab, ""));
chrome.action.onClicked.addListener(async tab => capture(tab.url, tab.title, tab, await selection(tab)));
