// A page in a browser, for tests: signs Ada in at the page of a node, uploads, saves and polls.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

struct WebCaller {
    private static let app = "0123456789abcdef"
    /// A file for `--web-apps`.
    static let apps = """
        [{"container": "\(NodeProcess.container)", "environment": "development",
          "token": "\(app)", "callback": "notes:in"}]
        """

    private let endpoint: String
    private let session: String

    /// Signs in at the page that the node serves.
    static func signIn(at node: NodeProcess) async throws -> WebCaller {
        let endpoint = try await node.httpEndpoint()
        let visitor = WebCaller(endpoint: endpoint, session: "")
        let answer = try visitor.exchange("GET", visitor.target("public/users/caller"))
        let link = try part(of: answer, #""redirectURL": ""#, "\"")
        let page = try visitor.exchange("GET", try path(of: link))
        let state = try part(of: page, #"name="state" value=""#, "\"")
        let cookie = try part(of: page, "Set-Cookie: ", ";")
        let password = KeptTokens.password.replacing(" ", with: "+")
        let done = try visitor.exchange(
            "POST",
            "/sign-in",
            headers: ["Cookie: \(cookie)", "Content-Type: application/x-www-form-urlencoded"],
            "state=\(state)&name=ada&password=\(password)"
        )
        let session = try part(of: done, "Location: notes:in?ckWebAuthToken=", "&")
        return WebCaller(endpoint: endpoint, session: session)
    }

    // MARK: Calls

    /// The path of a URL to poll.
    func courierURL() throws -> String {
        let path = "/device/1/\(NodeProcess.container)/development/tokens/create"
        let target = "\(path)?ckAPIToken=\(WebCaller.app)&ckWebAuthToken=\(session)"
        let answer = try exchange("POST", target, #"{"apnsEnvironment": "development"}"#)
        return try WebCaller.path(of: WebCaller.part(of: answer, #""webcourierURL": ""#, "\""))
    }

    /// The receipt of a file, as a field takes it.
    func receipt(of content: String) throws -> String {
        let link = try exchange(
            "POST",
            target("private/assets/upload"),
            #"{"tokens": [{"recordType": "Note", "fieldName": "photo"}]}"#
        )
        let path = try WebCaller.path(of: WebCaller.part(of: link, #""url": ""#, "\""))
        let answer = try exchange(
            "POST",
            path,
            headers: ["Content-Type: application/octet-stream"],
            content
        )
        let json = try JSONReader.read(Bytes(try WebCaller.body(of: answer).utf8))
        return try #require(json["singleFile"], "\(answer)").text
    }

    /// Saves a record with a file; returns why it is refused.
    func save(_ receipt: String) throws -> String? {
        let record = """
            {"recordName": "\(UUID().uuidString)", "recordType": "Note",
             "fields": {"photo": {"value": \(receipt)}}}
            """
        let answer = try exchange(
            "POST",
            target("private/records/modify"),
            #"{"operations": [{"operationType": "create", "record": \#(record)}]}"#
        )
        guard answer.contains("serverErrorCode") else { return nil }
        return try WebCaller.part(of: answer, #""serverErrorCode": ""#, "\"")
    }

    /// Polls; returns the status if that is no success.
    func poll(_ path: String) throws -> String? {
        let answer = try exchange("GET", path)
        let status = answer.split(separator: " ").dropFirst().first.map(String.init)
        return status == "200" ? nil : status ?? "no answer"
    }

    // MARK: HTTP

    private func target(_ path: String) -> String {
        let user = session.isEmpty ? "" : "&ckWebAuthToken=\(session)"
        let base = "/database/1/\(NodeProcess.container)/development"
        return "\(base)/\(path)?ckAPIToken=\(WebCaller.app)\(user)"
    }

    private func exchange(
        _ method: String,
        _ target: String,
        headers: [String] = [],
        _ body: String = ""
    ) throws -> String {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: node", "Connection: close"]
        let length = ["Content-Length: \(body.utf8.count)"]
        let head = (lines + length + headers).joined(separator: "\r\n")
        return try RawClient.exchange(endpoint, "\(head)\r\n\r\n\(body)")
    }

    private static func body(of answer: String) throws -> String {
        let end = try #require(answer.firstRange(of: "\r\n\r\n"), "\(answer)")
        return String(answer[end.upperBound...])
    }

    /// What follows the host of a URL.
    private static func path(of url: String) throws -> String {
        let host = try #require(url.firstRange(of: "://"), "\(url)").upperBound
        let start = try #require(url[host...].firstIndex(of: "/"), "\(url)")
        return String(url[start...])
    }

    /// The text between two texts.
    private static func part(
        of text: String,
        _ start: String,
        _ end: String
    ) throws -> String {
        let range = try #require(text.firstRange(of: start), "\(text)")
        let rest = text[range.upperBound...]
        let last = try #require(rest.firstRange(of: end), "\(text)")
        return String(rest[..<last.lowerBound])
    }
}
