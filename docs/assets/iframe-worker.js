// Browsers start no workers on pages that were opened from a file. The search of the site then runs in a hidden frame
// that looks like a worker to both sides: the page posts messages to it, and its script to the page.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    #inner
    #ready

    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      this.#inner = frame.contentWindow
      this.#inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.#inner.importScripts = async (...urls) => {
        for (const each of urls) await this.#load(each)
      }
      this.#ready = this.#load(url)
    }

    #load(url) {
      const script = this.#inner.document.createElement("script")
      script.src = url
      const loaded = new Promise((resolve, reject) => {
        script.onload = resolve
        script.onerror = () => reject(new Error(`${url} cannot be loaded`))
      })
      this.#inner.document.head.appendChild(script)
      return loaded
    }

    async postMessage(data) {
      await this.#ready
      this.#inner.dispatchEvent(new MessageEvent("message", { data }))
    }
  }
}
