// `cumulusd --http --web-apps --web-url`: a user of a web app signs in at the page that a process
// serves, and mistakes in the settings are told at the start.

import Cumulus
import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebSignInTests {
    private let folder: TestFolder
    private static let app = "0123456789abcdef"
    private static let site = "http://127.0.0.1:1/cumulus"

    init() throws {
        folder = try TestFolder()
        let apps = """
            [{"container": "\(NodeProcess.container)", "environment": "development",
              "token": "\(Self.app)", "callback": "notes:in"}]
            """
        try write(apps, "apps.json")
    }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(folder.path)/\(name)"))
    }

    private var arguments: [String] {
        ["--http", "127.0.0.1:0", "--web-apps", "\(folder.path)/apps.json"]
    }

    /// The text between two texts.
    private func part(of text: String, _ start: String, _ end: String) throws -> String {
        let range = try #require(text.firstRange(of: start), "\(text)")
        let rest = text[range.upperBound...]
        let last = try #require(rest.firstRange(of: end), "\(text)")
        return String(rest[..<last.lowerBound])
    }

    @Test func aUserSignsInAtThePageOfAProcess() async throws {
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: arguments + ["--web-url", Self.site + "/", "--web-host", "node"]
        )
        var configuration = Container.Configuration(endpoints: [try node.endpoint])
        configuration.tls = .never
        let admin = NodeOperator(configuration, token: try node.operatorToken)
        _ = try await admin.addUser("ada", in: nil)
        try await admin.setPassword(of: "ada", to: "correct horse")
        await admin.close()
        let web = try await node.httpEndpoint()

        let path = "/database/1/\(NodeProcess.container)/development/public/users/caller"
        func caller(_ token: String = "") throws -> String {
            let target = "\(path)?ckAPIToken=\(Self.app)\(token)"
            return try RawClient.exchange(web, "GET \(target) HTTP/1.1\r\nHost: node\r\n\r\n")
        }
        let link = try part(of: try caller(), #""redirectURL": ""#, "\"")
        #expect(link.hasPrefix(Self.site + "/sign-in?state="))
        var session = ""
        // A proxy may pass the path of --web-url on, or not.
        for target in [link.dropFirst("http://127.0.0.1:1".count), link.dropFirst(Self.site.count)]
        {
            let page = try RawClient.exchange(web, "GET \(target) HTTP/1.1\r\nHost: node\r\n\r\n")
            #expect(page.hasPrefix("HTTP/1.1 200") && page.contains("X-Frame-Options: DENY"))
            let state = try part(of: page, #"name="state" value=""#, "\"")
            let cookie = try part(of: page, "Set-Cookie: ", ";")
            let form = "state=\(state)&name=ada&password=correct+horse"
            let done = try RawClient.exchange(
                web,
                """
                POST /sign-in HTTP/1.1\r
                Host: node\r
                Cookie: \(cookie)\r
                Content-Type: application/x-www-form-urlencoded\r
                Content-Length: \(form.utf8.count)\r
                \r
                \(form)
                """
            )
            #expect(done.hasPrefix("HTTP/1.1 303"))
            session = try part(of: done, "Location: notes:in?ckWebAuthToken=", "&")
            let answer = try caller("&ckWebAuthToken=\(session)")
            #expect(answer.hasPrefix("HTTP/1.1 200") && answer.contains("userRecordName"))
        }
        for path in ["/sign-in", "/console"] {
            let request = "GET \(path) HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n"
            let refused = try RawClient.exchange(web, request)
            #expect(refused.hasPrefix("HTTP/1.1 421") && refused.contains("--web-host"))
        }
        let root = try RawClient.exchange(web, "GET / HTTP/1.1\r\nHost: node\r\n\r\n")
        #expect(root.hasPrefix("HTTP/1.1 302") && root.contains("Location: /console\r\n"))
        // Links begin with --web-url, and without it with the address that the caller used.
        #expect(try courierURL(session, at: web).hasPrefix(Self.site + "/device/1/courier/"))
        try await node.end(SIGTERM)
        let bare = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--http", web, "--web-apps", "\(folder.path)/apps.json", "--no-console"]
        )
        for (path, status) in [("/", "200"), ("/console", "404")] {
            let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let answer = try RawClient.exchange(web, request)
            #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(path): \(answer)")
        }
        let made = try courierURL(session, at: try await bare.httpEndpoint())
        #expect(made.hasPrefix("https://public.example/device/1/courier/"), "\(made)")
    }

    /// The URL to poll at, as a caller behind a proxy gets it.
    private func courierURL(_ session: String, at web: String) throws -> String {
        let path = "/device/1/\(NodeProcess.container)/development/tokens/create"
        let body = #"{"apnsEnvironment": "development"}"#
        let answer = try RawClient.exchange(
            web,
            """
            POST \(path)?ckAPIToken=\(Self.app)&ckWebAuthToken=\(session) HTTP/1.1\r
            Host: public.example\r
            X-Forwarded-Proto: https\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        )
        return try part(of: answer, #""webcourierURL": ""#, "\"")
    }

    /// The command prints a link, and the page behind it sets a password.
    @Test func aUserSetsAPasswordByALink() async throws {
        let node = try await NodeProcess.ready(
            data: folder.node,
            arguments: ["--http", "127.0.0.1:0", "--web-url", Self.site, "--web-host", "node"]
        )
        let admin = [
            "CUMULUS_ENDPOINT": try node.endpoint,
            "CUMULUS_OPERATOR_TOKEN_FILE": node.operatorTokenFile,
        ]
        _ = try await CommandLineRun(["user", "add", "ada"], variables: admin)
        let made = try await CommandLineRun(["user", "reset-link", "ada"], variables: admin)
        let url = made.output.filter { !$0.isNewline }
        #expect(url.hasPrefix(Self.site + "/sign-in/reset?token="), "\(made.errors)")
        let web = try await node.httpEndpoint()
        let target = url.dropFirst(Self.site.count)
        let page = try RawClient.exchange(web, "GET \(target) HTTP/1.1\r\nHost: node\r\n\r\n")
        let token = try part(of: page, #"name="token" value=""#, "\"")
        let form = "token=\(token)&new=correct+horse&again=correct+horse"
        func send() throws -> String {
            try RawClient.exchange(
                web,
                """
                POST /sign-in/reset HTTP/1.1\r
                Host: node\r
                Content-Type: application/x-www-form-urlencoded\r
                Content-Length: \(form.utf8.count)\r
                \r
                \(form)
                """
            )
        }
        #expect(try send().hasPrefix("HTTP/1.1 200"))
        #expect(try send().hasPrefix("HTTP/1.1 403"))
        try Data("correct horse\n".utf8).write(to: URL(filePath: "\(folder.path)/password"))
        let signIn = ["sign-in", "ada", "--password-file", "\(folder.path)/password"]
        let signed = try await CommandLineRun(
            signIn,
            variables: [
                "CUMULUS_ENDPOINT": try node.endpoint, "CUMULUS_CONTAINER": NodeProcess.container,
            ]
        )
        #expect(signed.code == 0 && signed.output.hasPrefix("cumulus_"), "\(signed.errors)")
        try await node.end(SIGTERM)
    }

    /// A node does not start, and says why.
    private func expectEnd(_ arguments: [String], _ why: String) async throws {
        let node = try NodeProcess(data: folder.node, arguments: arguments)
        #expect(try await node.waitForEnd(seconds: 20) == .exit(1))
        #expect(node.errors.contains(why), "\(node.errors)")
    }

    @Test func aMistakeIsToldAtTheStart() async throws {
        let web: JSON = [
            "clientID": .string(TestIssuer.app), "authorization": "http://id.example.org/auth",
            "token": "https://id.example.org/token",
        ]
        let issuers = TestIssuer.file(["web": web])
        try write(String(decoding: issuers, as: UTF8.self), "issuers.json")
        try Data(try TestIssuer.keySet([.p256("one")]))
            .write(to: URL(filePath: "\(folder.path)/keys.json"))
        for (more, why) in [
            (["--web-url", "node.example.com"], "web-url: 'node.example.com' is no URL"),
            (["--web-url", "http://node.example.com"], "use https, or say --insecure"),
            (["--web-host", "node:7480"], "web-host: 'node:7480' is no host"),
            (["--web-host", "node,"], "web-host: '' is no host"),
            (["--trusted-proxies", "10.0.0.1/8"], "trusted-proxies: '10.0.0.1/8' is no address"),
            (["--http", "nonsense"], "http: 'nonsense' is no address; write one such as"),
            (["--issuers", "\(folder.path)/issuers.json"], "URLs with https"),
        ] {
            try await expectEnd(arguments + more, why)
        }
        try await expectEnd(["--web-host", "node"], "web-host: it is of no use without --http")
    }
}
