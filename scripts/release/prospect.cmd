@echo off
"%~dp0..\lib\node.exe" "%~dp0..\lib\app\bin\prospect.js" %*
