// The files that the console is made of, as browsers get them.
//
// Served by the gateway's `Console` under their whole paths. They are files of this target, which
// the build takes into the binary, and load nothing from elsewhere. `PackageResources` is made by
// SwiftPM from their names. A script is served as it stands; what the node has to tell it stands in
// attributes of the page.
//
// Folder: pages as the gateway takes them. Read `PageFile`, then `HTMLTemplate` and `SignInFile`.

package struct PageFile: Sendable {
    package let type: String
    package let bytes: [UInt8]

    private static func html(_ html: HTML) -> PageFile {
        PageFile(type: "text/html; charset=utf-8", bytes: Array(html.text.utf8))
    }

    private static func style(_ bytes: [UInt8]) -> PageFile {
        PageFile(type: "text/css; charset=utf-8", bytes: bytes)
    }

    private static func script(_ bytes: [UInt8]) -> PageFile {
        PageFile(type: "text/javascript; charset=utf-8", bytes: bytes)
    }

    /// The files of the console, by the paths of their URLs.
    ///
    /// - Parameter mostFileBytes: The size of the largest file that the node takes.
    package static func console(mostFileBytes: Int) -> [String: PageFile] {
        let index = HTMLTemplate(PackageResources.index_html)
            .filled(["mostFileBytes": HTML(String(mostFileBytes))])
        return [
            "/console": html(index),
            "/console/": html(index),
            "/console/icon.svg": PageFile(type: "image/svg+xml", bytes: PackageResources.icon_svg),
            "/console/style.css": style(PackageResources.style_css),
            "/console/parts.css": style(PackageResources.parts_css),
            "/console/api.js": script(PackageResources.api_js),
            "/console/app.js": script(PackageResources.app_js),
            "/console/door.js": script(PackageResources.door_js),
            "/console/forms.js": script(PackageResources.forms_js),
            "/console/kit.js": script(PackageResources.kit_js),
            "/console/names.js": script(PackageResources.names_js),
            "/console/notices.js": script(PackageResources.notices_js),
            "/console/table.js": script(PackageResources.table_js),
            "/console/assets.js": script(PackageResources.assets_js),
            "/console/editor.js": script(PackageResources.editor_js),
            "/console/find.js": script(PackageResources.find_js),
            "/console/picked.js": script(PackageResources.picked_js),
            "/console/record.js": script(PackageResources.record_js),
            "/console/records.js": script(PackageResources.records_js),
            "/console/results.js": script(PackageResources.results_js),
            "/console/values.js": script(PackageResources.values_js),
            "/console/draft.js": script(PackageResources.draft_js),
            "/console/lines.js": script(PackageResources.lines_js),
            "/console/schema.js": script(PackageResources.schema_js),
            "/console/types.js": script(PackageResources.types_js),
            "/console/people.js": script(PackageResources.people_js),
            "/console/sessions.js": script(PackageResources.sessions_js),
            "/console/sync.js": script(PackageResources.sync_js),
            "/console/user.js": script(PackageResources.user_js),
            "/console/audit.js": script(PackageResources.audit_js),
            "/console/backups.js": script(PackageResources.backups_js),
            "/console/cluster.js": script(PackageResources.cluster_js),
            "/console/containers.js": script(PackageResources.containers_js),
            "/console/live.js": script(PackageResources.live_js),
            "/console/logs.js": script(PackageResources.logs_js),
            "/console/plot.js": script(PackageResources.plot_js),
            "/console/settings.js": script(PackageResources.settings_js),
            "/console/webapps.js": script(PackageResources.webapps_js),
            "/console/webhooks.js": script(PackageResources.webhooks_js),
        ]
    }
}
