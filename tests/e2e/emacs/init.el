;; A user's configuration: what others.md says, and what a test needs to ask and to be answered.  -*- lexical-binding: t -*-

(setq make-backup-files nil auto-save-default nil inhibit-startup-screen t use-dialog-box nil ring-bell-function #'ignore
      create-lockfiles nil
      ;; There need not be a compiler.
      native-comp-jit-compilation nil native-comp-enable-subr-trampolines nil)
(dolist (folder (split-string (getenv "INFILL_PACKAGES") ":"))
  (add-to-list 'load-path folder))

(setq print-escape-newlines t) ; a value is a line

(defun test--answer (connection said)
  "Evaluate each line of SAID in the buffer that is shown, and send back the value."
  (dolist (line (split-string said "\n" t))
    (process-send-string
     connection
     (format "%S\n" (condition-case fault
                        (with-current-buffer (window-buffer (selected-window)) (eval (read line) t))
                      (error (format "%S" fault)))))))

(make-network-process :name "test" :host "127.0.0.1" :service (string-to-number (getenv "INFILL_PORT"))
                      :coding 'utf-8 :noquery t :filter #'test--answer)
