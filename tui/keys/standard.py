"""The standard keys of every action, by the name that the settings use.

Generated from the bindings by `python -m tests.docs`: change the binding, not this module. With it settings can be
checked, and keys shown, without importing every screen.
"""

from __future__ import annotations

from collections.abc import Mapping

STANDARD: Mapping[str, str] = {
    "next_pane": "tab",
    "previous_pane": "shift+tab",
    "show.conversation": "1,f2,alt+1",
    "show.trace": "2,f3,alt+2",
    "show.observers": "3,f4,alt+3",
    "show.workspace": "4,f5,alt+4",
    "screen.prompt": "i",
    "pane.maximise": "z",
    "pane.narrower": "less_than_sign",
    "pane.wider": "greater_than_sign",
    "pane.lower": "minus",
    "pane.higher": "plus,equals_sign",
    "pane.standard": "0",
    "pane.link": "C",
    "message.copy": "y",
    "message.follow": "o",
    "find.search": "slash",
    "find.next": "n",
    "find.previous": "N",
    "move.open": "enter",
    "subagent.stop": "X",
    "file.compare": "v",
    "move.up": "up,k",
    "move.down": "down,j",
    "move.page_up": "pageup",
    "move.page_down": "pagedown",
    "move.first": "home,g",
    "move.last": "end,G",
    "prompt.send": "enter",
    "prompt.new_line": "ctrl+j,shift+enter,alt+enter,ctrl+enter",
    "prompt.steer": "ctrl+s",
    "prompt.queue": "alt+up",
    "prompt.edit": "ctrl+g",
    "prompt.undo": "ctrl+underscore",
    "move.fold": "left,h",
    "move.unfold": "right,l",
    "trace.filter": "f",
    "trace.next_failure": "e",
    "trace.previous_failure": "E",
    "trace.waterfall": "w",
    "trace.totals": "m",
    "observers.numbers": "m",
    "call.origin": "p",
    "workspace.sort": "s",
    "workspace.next_place": "t",
    "workspace.previous_place": "T",
    "workspace.hidden": "full_stop",
    "workspace.leave_filter": "escape",
    "file.copy_path": "y",
    "file.copy_text": "Y",
    "file.edit": "e",
    "file.open_outside": "o",
    "file.delete": "d",
    "file.raw": "m",
    "file.toggle": "space",
    "file.unfold_all": "E",
    "file.fold_all": "F",
    "file.page_down": "space,ctrl+f",
    "file.page_up": "b,ctrl+b",
    "picture.width": "w",
    "file.links": "L",
    "table.sort": "s",
    "table.turn": "S",
    "results.article": "a",
    "results.answer": "A",
    "file.copy_value": "c",
    "file.copy_place": "p",
    "quit": "ctrl+q",
    "copy": "ctrl+c",
    "commands": "ctrl+p",
    "restart": "ctrl+r",
    "find.all": "f8,alt+g",
    "report.open": "ctrl+o",
    "session.mode": "alt+m",
    "stop": "escape",
    "help.all": "f1",
    "help.here": "question_mark",
    "app.suspend": "ctrl+z",
    "error.restart": "r",
    "error.quit": "q",
    "error.close": "escape",
    "link.open": "o",
    "link.copy": "y",
    "screen.leave": "escape",
    "screen.close": "q",
    "screen.back": "escape,q",
    "versions.choose": "v",
    "versions.everything": "f",
    "versions.next": "n",
    "versions.previous": "N",
    "file.reload": "r",
    "table.filter": "f",
    "file.export": "x",
    "file.headings": "t",
    "claim.next": "right_square_bracket",
    "claim.previous": "left_square_bracket",
    "claim.next_any": "right_curly_bracket",
    "claim.previous_any": "left_curly_bracket",
    "claim.only_doubtful": "u",
    "claim.check": "C",
    "hit.call": "p,alt+p",
    "hit.session": "s,alt+s",
    "hit.cite": "y,alt+y",
    "hit.kind": "f,alt+k",
    "hit.kind_only": "K",
    "hit.site_only": "w,alt+w",
    "hit.session_only": "e,alt+e",
    "hit.next_part": "tab",
    "hit.previous_part": "shift+tab",
    "call.text": "m",
    "call.copy_result": "y",
    "call.copy_arguments": "a",
    "call.page": "P",
    "auth.done": "d,enter",
    "auth.cancel": "escape",
    "folder.trust": "t",
    "folder.part": "p",
    "folder.ignore": "i",
    "folder.view": "v",
    "folder.back": "escape",
    "folder.leave": "escape,q",
    "permission.deny": "d",
    "permission.reason": "r",
    "permission.once": "a",
    "permission.session": "s",
    "permission.folder": "f",
    "permission.everywhere": "e",
    "permission.change": "c",
    "permission.allow_changed": "ctrl+s",
    "permission.editor": "ctrl+g",
    "permission.back": "escape",
    "plan.keep": "escape",
    "plan.remark": "r",
    "plan.approve": "a",
    "plan.edits": "e",
    "question.mark": "space",
    "question.write": "t",
    "question.decline": "escape",
    "page.continue": "c",
    "page.decline": "d",
    "page.cancel": "escape",
    "form.submit": "ctrl+s",
    "form.decline": "ctrl+n",
    "form.cancel": "escape",
    "agents.read": "r",
    "blacklist.clear": "c,delete",
    "blacklist.clear_all": "a",
    "login.again": "a",
    "login.cancel": "escape",
    "connections.reconnect": "r",
    "connections.log_in": "l",
    "connections.switch": "e,space",
    "connections.test": "t",
    "permissions.remove": "d,delete",
    "permissions.read": "r",
    "budget.raise": "r",
    "budget.leave": "escape,q",
    "delete.confirm": "d",
    "delete.keep": "n,escape,q",
    "fresh.begin": "f",
    "fresh.quit": "escape,q",
    "quit.stay": "n,escape",
    "quit.wait": "w",
    "quit.stop": "y",
    "context.close": "escape,q",
    "skip.back": "n,escape",
    "skip.confirm": "y",
    "queue.earlier": "shift+up,K",
    "queue.later": "shift+down,J",
    "queue.delete": "d,delete",
    "sessions.resume": "r",
    "sessions.rename": "n",
    "sessions.delete": "d,delete",
    "sessions.export": "x",
    "sessions.sort": "s",
    "status.close": "escape,q",
    "fleet.waiting": "w",
}

TOGETHER = (
    "app.suspend commands copy file.compare find.all find.next find.previous find.search help.all "
    "help.here message.copy message.follow move.down move.first move.last move.open move.page_down "
    "move.page_up move.up next_pane pane.higher pane.link pane.lower pane.maximise pane.narrower "
    "pane.standard pane.wider previous_pane quit report.open restart screen.prompt session.mode "
    "show.conversation show.observers show.trace show.workspace stop subagent.stop",
    "app.suspend commands copy find.all help.all help.here next_pane pane.higher pane.link pane.lower "
    "pane.maximise pane.narrower pane.standard pane.wider previous_pane prompt.edit prompt.new_line "
    "prompt.queue prompt.send prompt.steer prompt.undo quit report.open restart screen.prompt session.mode "
    "show.conversation show.observers show.trace show.workspace stop",
    "app.suspend commands copy find.all find.next find.previous find.search help.all help.here move.down "
    "move.first move.fold move.last move.open move.page_down move.page_up move.unfold move.up next_pane "
    "pane.higher pane.link pane.lower pane.maximise pane.narrower pane.standard pane.wider previous_pane "
    "quit report.open restart screen.prompt session.mode show.conversation show.observers show.trace "
    "show.workspace stop subagent.stop trace.filter trace.next_failure trace.previous_failure trace.totals "
    "trace.waterfall",
    "app.suspend call.origin commands copy find.all help.all help.here move.down move.first move.last "
    "move.open move.page_down move.page_up move.up next_pane observers.numbers pane.higher pane.link "
    "pane.lower pane.maximise pane.narrower pane.standard pane.wider previous_pane quit report.open "
    "restart screen.prompt session.mode show.conversation show.observers show.trace show.workspace stop",
    "app.suspend call.origin commands copy file.compare file.copy_path file.copy_text file.delete "
    "file.edit file.open_outside find.all find.next find.previous find.search help.all help.here move.down "
    "move.first move.fold move.last move.open move.page_down move.page_up move.unfold move.up next_pane "
    "pane.higher pane.link pane.lower pane.maximise pane.narrower pane.standard pane.wider previous_pane "
    "quit report.open restart screen.prompt session.mode show.conversation show.observers show.trace "
    "show.workspace stop workspace.hidden workspace.leave_filter workspace.next_place "
    "workspace.previous_place workspace.sort",
    "app.suspend commands copy file.compare file.copy_path file.copy_place file.copy_text file.copy_value "
    "file.delete file.edit file.fold_all file.links file.open_outside file.page_down file.page_up file.raw "
    "file.toggle file.unfold_all find.all help.all help.here move.down move.first move.fold move.last "
    "move.open move.page_down move.page_up move.unfold move.up next_pane pane.higher pane.link pane.lower "
    "pane.maximise pane.narrower pane.standard pane.wider picture.width previous_pane quit report.open "
    "restart results.answer results.article screen.prompt session.mode show.conversation show.observers "
    "show.trace show.workspace stop table.sort table.turn",
    "error.close error.quit error.restart help.all help.here",
    "file.copy_place file.copy_text file.copy_value file.fold_all file.links file.page_down file.page_up "
    "file.raw file.toggle find.next find.previous find.search help.all help.here link.copy link.open "
    "move.down move.first move.last move.open move.page_down move.page_up move.up picture.width "
    "screen.close screen.leave screen.prompt",
    "help.all help.here screen.back",
    "file.page_down file.page_up file.raw find.search help.all help.here move.down move.first move.last "
    "move.open move.page_down move.page_up move.up picture.width screen.close screen.leave screen.prompt "
    "versions.choose versions.everything versions.next versions.previous",
    "help.all help.here screen.back",
    "help.all help.here screen.back",
    "help.all help.here link.copy link.open screen.back",
    "claim.check claim.next claim.next_any claim.only_doubtful claim.previous claim.previous_any "
    "file.compare file.copy_path file.copy_place file.copy_text file.copy_value file.delete file.edit "
    "file.export file.fold_all file.headings file.links file.open_outside file.page_down file.page_up "
    "file.raw file.reload file.toggle file.unfold_all find.next find.previous find.search help.all "
    "help.here move.down move.first move.fold move.last move.open move.page_down move.page_up move.unfold "
    "move.up picture.width results.answer results.article screen.close screen.leave screen.prompt "
    "table.filter table.sort table.turn",
    "find.search help.all help.here hit.call hit.cite hit.kind hit.kind_only hit.next_part "
    "hit.previous_part hit.session hit.session_only hit.site_only link.open move.down move.first move.last "
    "move.open move.page_down move.page_up move.up screen.close screen.leave screen.prompt",
    "call.copy_arguments call.copy_result call.page call.text file.copy_place file.copy_value "
    "file.fold_all file.links file.toggle file.unfold_all find.next find.previous find.search help.all "
    "help.here move.down move.first move.fold move.last move.open move.page_down move.page_up move.unfold "
    "move.up picture.width results.answer screen.close screen.leave screen.prompt table.filter table.sort "
    "table.turn",
    "auth.cancel auth.done help.all help.here link.copy link.open",
    "folder.leave help.all help.here",
    "help.all help.here permission.allow_changed permission.back permission.change permission.deny "
    "permission.editor permission.everywhere permission.folder permission.once permission.reason "
    "permission.session",
    "help.all help.here plan.approve plan.edits plan.keep plan.remark",
    "help.all help.here question.decline question.mark question.write",
    "help.all help.here link.copy link.open page.cancel page.continue page.decline",
    "form.cancel form.decline form.submit help.all help.here",
    "agents.read help.all help.here move.down move.first move.last move.page_down move.page_up move.up "
    "screen.back screen.prompt",
    "blacklist.clear blacklist.clear_all help.all help.here screen.back",
    "help.all help.here link.copy link.open login.again login.cancel",
    "connections.log_in connections.reconnect connections.switch connections.test help.all help.here "
    "move.down move.first move.last move.page_down move.page_up move.up screen.back screen.prompt",
    "help.all help.here move.down move.first move.last move.page_down move.page_up move.up "
    "permissions.read permissions.remove screen.back screen.prompt",
    "budget.leave budget.raise help.all help.here",
    "delete.confirm delete.keep help.all help.here",
    "fresh.begin fresh.quit help.all help.here",
    "help.all help.here quit.stay quit.stop quit.wait",
    "context.close help.all help.here",
    "help.all help.here skip.back skip.confirm",
    "help.all help.here queue.delete queue.earlier queue.later screen.back",
    "find.search help.all help.here move.down move.first move.last move.open move.page_down move.page_up "
    "move.up screen.close screen.leave screen.prompt sessions.delete sessions.export sessions.rename "
    "sessions.resume sessions.sort",
    "help.all help.here status.close",
    "find.search fleet.waiting help.all help.here move.down move.first move.last move.open move.page_down "
    "move.page_up move.up screen.close screen.leave screen.prompt",
)
"""The actions that are active at the same time, for each place that may have the focus."""
