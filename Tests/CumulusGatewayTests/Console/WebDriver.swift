// A browser for tests: chromedriver, driven by W3C WebDriver over HTTP on loopback.
//
// For one thread at a time, which it blocks. The process ends with the value. It finds elements by
// what people see of them, their labels and texts, and every wait has an end.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

final class WebDriver {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// "require": a test without a browser fails; otherwise it is skipped.
    private static let wish = ProcessInfo.processInfo.environment["CUMULUS_BROWSER"]

    static let isWanted = program != nil || wish == "require"

    static let skipped: Comment = """
        chromedriver is not installed: nothing was tried in a browser. Install it (Debian: apt \
        install chromium chromium-driver); CUMULUS_BROWSER=require makes its absence a failure
        """

    private static var program: String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        return path.split(separator: ":").map { "\($0)/chromedriver" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    private let process = Process()
    private let endpoint: String
    private var session = ""
    /// The window that commands are for.
    private var window = JSON.null
    private let folder: URL

    // MARK: Life

    /// Starts chromedriver, and a browser without a window.
    ///
    /// - Parameter folder: Where screenshots go.
    init(screenshots folder: URL) throws {
        guard let program = WebDriver.program else {
            throw Failure(description: "\(WebDriver.skipped)")
        }
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = ["--port=0"]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        endpoint = "127.0.0.1:\(try WebDriver.port(from: output.fileHandleForReading))"
        let options = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--window-size=1360,1000",
        ]
        let chrome: JSON = ["args": .array(options.map { .string($0) })]
        let logs: JSON = ["browser": "ALL"]
        let always: JSON = ["goog:chromeOptions": chrome, "goog:loggingPrefs": logs]
        let wanted: JSON = ["capabilities": ["alwaysMatch": always]]
        let answer = try send("POST", "/session", wanted)
        guard let id = answer["sessionId"]?.string else {
            throw Failure(description: "chromedriver opened no session: \(answer.text)")
        }
        session = "/session/\(id)"
        window = try send("GET", "\(session)/window")
    }

    /// Ends the browser and chromedriver.
    func quit() {
        _ = try? send("DELETE", session)
        // It may have been started with SIGTERM blocked.
        _ = kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// chromedriver chooses a free port, and says which.
    private static func port(from output: FileHandle) throws -> Int {
        var text = ""
        while true {
            let data = output.availableData
            guard !data.isEmpty else {
                throw Failure(description: "chromedriver ended at once: \(text)")
            }
            text += String(decoding: data, as: UTF8.self)
            if let match = text.firstMatch(of: /successfully on port (\d+)\./),
                let port = Int(match.output.1)
            {
                return port
            }
        }
    }

    // MARK: HTTP

    private func send(_ method: String, _ path: String, _ body: JSON? = nil) throws -> JSON {
        let client = try RawClient(endpoint)
        client.patience = 60_000
        defer { client.close() }
        let text = body?.text ?? ""
        let head = [
            "\(method) \(path) HTTP/1.1", "Host: \(endpoint)", "Content-Type: application/json",
            "Content-Length: \(text.utf8.count)", "Connection: close", "", "",
        ]
        try client.send(Bytes((head.joined(separator: "\r\n") + text).utf8))
        let content = try WebDriver.body(from: client)
        let answer = try JSONReader.read(content)["value"] ?? .null
        if let error = answer["error"]?.string {
            let message = answer["message"]?.string ?? ""
            throw Failure(description: "\(method) \(path): \(error): \(message.prefix(500))")
        }
        return answer
    }

    private static func body(from client: RawClient) throws -> ArraySlice<UInt8> {
        var bytes: Bytes = []
        var end: (head: Int, whole: Int)?
        let gap = Bytes("\r\n\r\n".utf8)
        while end.map({ bytes.count < $0.whole }) ?? true {
            guard let more = try client.receive() else { break }
            bytes += more
            guard end == nil, let range = bytes.firstRange(of: gap) else { continue }
            let head = String(decoding: bytes[..<range.lowerBound], as: UTF8.self).lowercased()
            guard let match = head.firstMatch(of: /content-length: *(\d+)/),
                let length = Int(match.output.1)
            else { throw Failure(description: "chromedriver's answer has no length: \(head)") }
            end = (range.upperBound, range.upperBound + length)
        }
        guard let end, bytes.count >= end.whole else {
            throw Failure(description: "chromedriver's answer ended early")
        }
        return bytes[end.head..<end.whole]
    }

    // MARK: Pages

    func open(_ url: String) throws {
        _ = try send("POST", "\(session)/url", ["url": .string(url)])
    }

    /// Switches to another window than the present one, once there is one.
    func changeWindow(seconds: Double = 20) throws {
        let end = Date().addingTimeInterval(seconds)
        while Date() < end {
            let handles = try send("GET", "\(session)/window/handles")
            if case .array(let all) = handles, let other = all.first(where: { $0 != window }) {
                _ = try send("POST", "\(session)/window", ["handle": other])
                window = other
                return
            }
            Thread.sleep(forTimeInterval: 0.1)
        }
        throw Failure(description: "no other window was opened in \(seconds) s")
    }

    /// Runs a script in the page; `arguments` are texts.
    func run(_ script: String, _ arguments: String...) throws -> JSON {
        let list = JSON.array(arguments.map { .string($0) })
        let body: JSON = ["script": .string(script), "args": list]
        return try send("POST", "\(session)/execute/sync", body)
    }

    /// Waits until an expression is true in the page.
    func wait(for condition: String, _ arguments: String..., seconds: Double = 20) throws {
        let end = Date().addingTimeInterval(seconds)
        let list = JSON.array(arguments.map { .string($0) })
        let body: JSON = ["script": .string("return !!(\(condition))"), "args": list]
        while Date() < end {
            if try send("POST", "\(session)/execute/sync", body) == .bool(true) { return }
            Thread.sleep(forTimeInterval: 0.1)
        }
        let shown = try run("return document.body.innerText").string ?? ""
        throw Failure(
            description: "not so in \(seconds) s: \(condition) \(arguments); the page: \(shown)"
        )
    }

    /// Waits until a text is shown.
    func see(_ text: String) throws {
        try wait(for: "document.body.innerText.includes(arguments[0])", text)
    }

    /// Clicks what begins with a text, once it is there and may be clicked.
    func click(_ text: String, _ selector: String = "button") throws {
        let find = """
            const found = [...document.querySelectorAll(arguments[1])].find((each) =>
              each.textContent.trim().startsWith(arguments[0]) && !each.disabled);
            """
        try wait(for: "(() => { \(find) return found; })()", text, selector)
        _ = try run("\(find) found.click();", text, selector)
    }

    /// Types into a field, by its name; the value before is gone.
    func type(_ text: String, into name: String) throws {
        let find = "[...document.querySelectorAll(`[name=\"${arguments[0]}\"]`)].at(-1)"
        try wait(for: find, name)
        _ = try run(
            """
            const field = \(find);
            field.value = arguments[1];
            for (const event of ["input", "change"]) {
              field.dispatchEvent(new Event(event, { bubbles: true }));
            }
            """,
            name,
            text
        )
    }

    /// Gives the page another size, and light or dark colours.
    func show(width: Int, height: Int = 900, isDark: Bool = false) throws {
        try command(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .integer(Int64(width)), "height": .integer(Int64(height)),
                "deviceScaleFactor": .integer(1), "mobile": .bool(false),
            ]
        )
        let colours: JSON = [
            "name": "prefers-color-scheme", "value": isDark ? "dark" : "light",
        ]
        try command("Emulation.setEmulatedMedia", ["features": .array([colours])])
    }

    /// A command of the browser's own protocol.
    private func command(_ name: String, _ values: JSON) throws {
        let body: JSON = ["cmd": .string(name), "params": values]
        _ = try send("POST", "\(session)/goog/cdp/execute", body)
    }

    /// Presses keys where the focus is, one after the other.
    func press(_ keys: String) throws {
        let actions = keys.flatMap { key -> [JSON] in
            ["keyDown", "keyUp"].map { ["type": .string($0), "value": .string(String(key))] }
        }
        let keyboard: JSON = ["type": "key", "id": "keyboard", "actions": .array(actions)]
        _ = try send("POST", "\(session)/actions", ["actions": .array([keyboard])])
    }

    /// Moves the focus with the Tab key to an element, for which the condition is true as `e`.
    func tab(to condition: String) throws {
        let reached = "const e = document.activeElement; return !!(\(condition));"
        for _ in 0..<200 {
            if try run(reached) == .bool(true) { return }
            try press(Self.tabKey)
        }
        throw Failure(description: "the Tab key does not lead to \(condition)")
    }

    static let (tabKey, enterKey, escapeKey) = ("\u{E004}", "\u{E007}", "\u{E00C}")
    static let rightKey = "\u{E014}"

    /// Gives a file to an input, by the input's name, as if it was chosen.
    func attach(_ file: URL, to name: String) throws {
        let selector = "input[type=file][name=\"\(name)\"]"
        try wait(for: "document.querySelector(arguments[0])", selector)
        let element = try send(
            "POST",
            "\(session)/element",
            ["using": "css selector", "value": .string(selector)]
        )
        guard case .object(let members) = element, let id = members.first?.value.string else {
            throw Failure(description: "chromedriver found no element: \(element.text)")
        }
        _ = try send("POST", "\(session)/element/\(id)/value", ["text": .string(file.path)])
    }

    /// Puts a picture of the page into the folder.
    func shoot(_ name: String) throws {
        // Messages would lie over what is to be seen.
        _ = try run("document.getElementById('messages')?.replaceChildren()")
        let picture = try send("GET", "\(session)/screenshot").string ?? ""
        guard let data = Data(base64Encoded: picture) else {
            throw Failure(description: "a screenshot is not base64")
        }
        try data.write(to: folder.appendingPathComponent("\(name).png"))
    }

    /// What the browser complained of since it was asked last.
    func complaints() throws -> [String] {
        let log = try send("POST", "\(session)/se/log", ["type": "browser"])
        guard case .array(let entries) = log else { return [] }
        return entries.compactMap { entry in
            entry["level"] == "SEVERE" ? entry["message"]?.string : nil
        }
    }
}
