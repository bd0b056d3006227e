// A Python with what the stand-ins for push services need: from PyPI, in a folder that stays from
// one run to the next, or else the system's.
//
// `PushServices` runs them with it. The folder is made at the first run, which takes some seconds
// and a network. It has `http_ece`, which opens Web Push; the system's Python has not.
// `CUMULUS_PYTHON` names another one.

import CumulusTesting
import Foundation

enum PushPython {
    /// The path of the interpreter; nil if there is none.
    static let path: String? = named ?? made ?? system

    private static let needs = ["h2.connection", "jwt", "cryptography"]
    private static let packages = ["h2", "PyJWT", "cryptography", "http_ece"]

    private static var named: String? {
        ProcessInfo.processInfo.environment["CUMULUS_PYTHON"]
    }

    private static var made: String? {
        let cache = FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
        guard let folder = cache?.appending(path: "cumulus/push-python").path() else { return nil }
        let python = "\(folder)/bin/python3"
        if canImport(needs + ["http_ece"], python) { return python }
        _ = try? GRPCPython.run("/usr/bin/env", ["python3", "-m", "venv", folder])
        _ = try? GRPCPython.run(python, ["-m", "pip", "install", "-q"] + packages)
        return canImport(needs, python) ? python : nil
    }

    private static var system: String? {
        canImport(needs, "/usr/bin/python3") ? "/usr/bin/python3" : nil
    }

    private static func canImport(_ modules: [String], _ python: String) -> Bool {
        guard FileManager.default.isExecutableFile(atPath: python) else { return false }
        let words = ["-c", "import " + modules.joined(separator: ", ")]
        return (try? GRPCPython.run(python, words))?.code == 0
    }
}
